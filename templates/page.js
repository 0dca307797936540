for (const figure of document.querySelectorAll("figure[data-spec]")) {
  const spec = JSON.parse(document.getElementById(figure.dataset.spec).textContent);
  const place = figure.querySelector(".live");
  if (!spec.facet) {
    spec.width = "container";
    spec.autosize = { type: "fit-x", contains: "padding" };
  }
  const quiet = { ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } };
  vegaEmbed(place, spec, quiet).then(
    () => figure.classList.add("is-live"),
    () => place.replaceChildren(),
  );
}
