// legends of as many columns as fit, so that a phone shows every name
const fitLegends = (view, room) => {
  if (!view || typeof view !== "object") return;
  const { legend, scale } = view;
  if (legend?.columns && Array.isArray(scale?.domain)) {
    const widest = 60 + 7 * Math.max(...scale.domain.map((name) => String(name).length));
    legend.columns = Math.max(1, Math.min(legend.columns, Math.floor(room / widest)));
    // a name that is wider than the screen ends with three dots instead of at the edge
    legend.labelLimit = Math.min(420, Math.floor(room / legend.columns) - 48);
  }
  for (const [name, inner] of Object.entries(view)) if (name !== "datasets") fitLegends(inner, room);
};
// a title above an axis that is longer than the screen stands in two lines, broken at a comma or a bracket
const fitTitles = (spec, room) => {
  const first = (view) => [view, ...(view.layer ?? []), ...(view.vconcat ?? []).flatMap(first)];
  let wrapped = false;
  for (const { encoding } of first(spec)) {
    const title = encoding?.y?.axis?.title;
    if (typeof title !== "string" || 6.6 * title.length <= room) continue;
    const breaks = [...title.matchAll(/, | (?=\()/g)].filter(({ index }) => 6.6 * index <= room);
    const place = breaks.at(-1) ?? { index: title.lastIndexOf(" ", room / 6.6), 0: " " };
    if (place.index <= 0) continue;
    encoding.y.axis.title = [title.slice(0, place.index) + place[0].trim(), title.slice(place.index + place[0].length)];
    wrapped = true;
  }
  if (!wrapped) return;
  spec.config.axisY = { ...spec.config.axisY, titleY: spec.config.axisY.titleY - 16 };
  spec.config.legend = { ...spec.config.legend, offset: spec.config.legend.offset + 16 };
};
// a pointer on a series, or on its name in the legend, pales the others
const seriesOf = (node) => {
  const { __data__: item } = node;
  const datum = (Array.isArray(item) ? item[0] : item)?.datum;
  return datum?.series ?? (item?.mark?.role?.startsWith("legend-") ? datum?.value : undefined);
};
const isolateSeries = (place) => {
  const show = (name) => {
    for (const mark of place.querySelectorAll("path, text")) {
      const own = seriesOf(mark);
      if (own !== undefined && mark.getAttribute("opacity") !== "0") mark.style.opacity = name === undefined || own === name ? "" : 0.12;
    }
  };
  place.addEventListener("pointerover", (event) => show(seriesOf(event.target)));
  place.addEventListener("pointerleave", () => show(undefined));
};
// the drawing as it stands, as a file: works without a network and from a folder
const offerDownload = (figure, view) => {
  figure.querySelector("figcaption + button")?.remove();
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Save as SVG";
  button.addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await view.toSVG()], { type: "image/svg+xml" }));
    link.download = `${figure.id}.svg`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  figure.querySelector("figcaption").after(button);
};
const theme = JSON.parse(document.getElementById("theme").textContent);
const drawn = new Map();
const draw = (figure) => {
  const spec = JSON.parse(document.getElementById(figure.dataset.spec).textContent);
  spec.config = { ...theme, ...spec.config };
  for (const [name, data] of Object.entries(spec.datasets)) {
    if (!data.columns) continue;
    // names of columns and words stand once in the page
    const cell = (value, k) => [data.columns[k], data.words[data.columns[k]]?.[value] ?? value];
    spec.datasets[name] = data.rows.map((row) => Object.fromEntries(row.map(cell)));
  }
  const place = figure.querySelector(".live");
  const previous = drawn.get(figure);
  const own = { width: place.parentElement.clientWidth };
  drawn.set(figure, own);
  // lines are lower in a narrow column; line charts are 340 or 350 high, and the height of rows follows from their number
  for (const view of [spec, ...(spec.vconcat ?? [])]) {
    if (view.height === 340 || view.height === 350) view.height = Math.max(230, Math.min(view.height, Math.round(0.62 * place.parentElement.clientWidth)));
  }
  // rows stand closer together where the page is narrow
  if (spec.usermeta?.narrow && own.width < 480) spec.height = spec.usermeta.narrow;
  if (spec.vconcat) {
    // beside the numbers of the axis; below each other they are equally wide
    for (const view of spec.vconcat) view.width = place.parentElement.clientWidth - 60 - (spec.usermeta?.beside ?? 0);
  } else if (spec.concat) {
    // panels of their own axes: as many beside each other as stay readable
    const each = place.parentElement.clientWidth / Math.max(1, Math.min(spec.columns, Math.floor(place.parentElement.clientWidth / 176)));
    spec.columns = Math.round(place.parentElement.clientWidth / each);
    for (const view of spec.concat) view.width = Math.floor(each) - (spec.spacing ?? 20) - 40;
  } else if (!spec.facet) {
    spec.width = "container";
    spec.autosize = { type: "fit-x", contains: "padding" };
  } else if (spec.columns && spec.spec.width) {
    // as many panels beside each other as stay readable, together as wide as the page
    const room = place.parentElement.clientWidth - 60;
    const panels = spec.facet.sort.length;
    const fitting = Math.max(1, Math.min(panels, Math.floor(room / (0.75 * spec.spec.width))));
    spec.columns = Math.ceil(panels / Math.ceil(panels / fitting));
    // else the place of a panel that is not there has an axis
    if (panels % spec.columns) spec.resolve = { ...spec.resolve, axis: { ...spec.resolve?.axis, x: "independent" } };
    spec.spec.width = Math.floor(room / spec.columns) - (spec.spacing ?? 20);
    if (spec.usermeta?.square) spec.spec.height = spec.spec.width;
  }
  fitLegends(spec, place.parentElement.clientWidth - 40);
  if (spec.config.axisY) fitTitles(spec, place.parentElement.clientWidth);
  const quiet = { ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: { disableDefaultStyle: true } };
  vegaEmbed(place, spec, quiet).then(
    (result) => {
      previous?.result?.finalize();
      own.result = result;
      figure.classList.add("is-live");
      if (!previous) isolateSeries(place);
      offerDownload(figure, result.view);
    },
    () => place.replaceChildren(),
  );
};
document.querySelectorAll("figure[data-spec]").forEach(draw);
// a window that is made narrower, or a phone that is turned, has room for other columns and panels
let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const [figure, { width, result }] of drawn) {
      const room = figure.querySelector(".live").parentElement.clientWidth;
      if (result && room && room !== width) draw(figure);
    }
  }, 100);
});
// a link to a claim, or to what is folded, opens it
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  const folded = target?.matches("details") ? target : target?.querySelector(":scope > .claim");
  if (folded) folded.open = true;
  for (let around = target?.parentElement?.closest("details"); around; around = around.parentElement.closest("details")) {
    around.open = true;
  }
  if (target && !folded) target.scrollIntoView();
};
addEventListener("hashchange", openTarget);
openTarget();
