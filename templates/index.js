const normalized = (text) => text.toLowerCase().replace(/\s+/g, " ");
const form = document.querySelector(".search");
const field = form.querySelector("input");
const chosen = (name) => form.querySelector(`#${name}`)?.value ?? "";
const count = form.querySelector("[role=status]");
const cards = [...document.querySelectorAll(".card")].map((element) => ({
  element,
  text: normalized(element.textContent),
  papers: element.dataset.papers.split("; "),
  details: element.querySelector("details"),
  label: element.querySelector("summary .count"),
  counted: element.querySelector("summary .count")?.textContent,
  claims: [...element.querySelectorAll("details li")].map((claim) => ({
    claim,
    text: normalized(claim.textContent),
    word: claim.closest(".verdict").dataset.word,
  })),
}));
const groups = document.querySelectorAll(".group");
const search = () => {
  const words = normalized(field.value).split(" ").filter(Boolean);
  const [verdict, paper] = [chosen("verdict"), chosen("paper")];
  const matches = (text) => words.every((word) => text.includes(word));
  for (const { element, text, papers, details, label, counted, claims } of cards) {
    const judged = claims.filter(({ word }) => !verdict || word === verdict);
    element.hidden = !matches(text) || (paper && !papers.includes(paper)) || (verdict && !judged.length);
    // The claims that are asked for, by their words or their verdict, stand open and alone.
    const hits = words.length || verdict ? judged.filter((one) => matches(one.text)) : [];
    for (const one of claims) one.claim.classList.toggle("hit", hits.includes(one));
    if (!details) continue;
    details.open = hits.length > 0;
    details.classList.toggle("searched", hits.length > 0);
    label.textContent = hits.length ? `${hits.length} of ${claims.length} claims` : counted;
  }
  for (const group of groups) group.hidden = !group.querySelector(".card:not([hidden])");
  const shown = cards.filter(({ element }) => !element.hidden).length;
  count.textContent = words.length || verdict || paper ? `${shown} of ${cards.length} questions` : "";
};
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", search);
form.hidden = false;
search(); // a browser that goes back fills the fields again
