(() => {
  "use strict";
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const colours = () => {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { ink: of("--ink"), soft: of("--soft"), line: of("--line") };
  };

  const draw = () => {
    const { ink, soft, line } = colours();
    for (const [key, figure] of Object.entries(figures)) {
      const layout = JSON.parse(JSON.stringify(figure.layout));
      layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
      layout.font = { color: ink, family: "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif", size: 13 };
      for (const axis of ["xaxis", "yaxis"]) {
        layout[axis] = { ...layout[axis], gridcolor: line, zerolinecolor: line, linecolor: soft };
      }
      for (const shape of layout.shapes || []) shape.line.color = ink;
      Plotly.react("plot-" + key, figure.data, layout, { responsive: true, displaylogo: false });
    }
  };

  const table = document.getElementById("table");
  const rows = Array.from(table.tBodies[0].rows);
  const count = document.getElementById("count");
  const filter = document.getElementById("filter");

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      if (!row.hidden) shown += 1;
    }
    count.textContent = shown + " of " + rows.length;
  };

  const sort = (head, index) => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = (row) => row.cells[index].dataset.v;
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const numeric = Number(x) - Number(y);
      const order = Number.isNaN(numeric) ? x.localeCompare(y, "en", { numeric: true }) : numeric;
      return up ? order : -order;
    };
    rows.sort(compare).forEach((row) => table.tBodies[0].append(row));
  };

  Array.from(table.tHead.rows[0].cells).forEach((head, index) => {
    head.querySelector("button").addEventListener("click", () => sort(head, index));
  });
  filter.addEventListener("input", show);
  dark.addEventListener("change", draw);
  show();
  draw();
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
})();
