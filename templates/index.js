const normalized = (text) => text.toLowerCase().replace(/\s+/g, " ");
const form = document.querySelector(".search");
const field = form.querySelector("input");
const count = form.querySelector("[role=status]");
const cards = [...document.querySelectorAll(".card")].map((element) => ({
  element,
  text: normalized(element.textContent),
  details: element.querySelector("details"),
  label: element.querySelector("summary .count"),
  counted: element.querySelector("summary .count")?.textContent,
  claims: [...element.querySelectorAll("details li")].map((claim) => [claim, normalized(claim.textContent)]),
}));
const groups = document.querySelectorAll(".group");
const search = () => {
  const words = normalized(field.value).split(" ").filter(Boolean);
  const matches = (text) => words.every((word) => text.includes(word));
  for (const { element, text, details, label, counted, claims } of cards) {
    element.hidden = !matches(text);
    let hits = 0;
    for (const [claim, sentence] of claims) {
      const hit = words.length > 0 && matches(sentence);
      claim.classList.toggle("hit", hit);
      hits += hit;
    }
    if (!details) continue;
    details.open = hits > 0;
    details.classList.toggle("searched", hits > 0);
    label.textContent = hits ? `${hits} of ${claims.length} claims` : counted;
  }
  for (const group of groups) group.hidden = !group.querySelector(".card:not([hidden])");
  const shown = cards.filter(({ element }) => !element.hidden).length;
  count.textContent = words.length ? `${shown} of ${cards.length} questions` : "";
};
form.addEventListener("submit", (event) => event.preventDefault());
field.addEventListener("input", search);
form.hidden = false;
search(); // a browser that goes back fills the field again
