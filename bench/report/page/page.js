"use strict";
// A click on the head of a column sorts its table; everything else works without a script.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const key = (row) => row.cells[column].dataset.sort;
      const order = (a, b) => {
        const [x, y] = [Number(key(a)), Number(key(b))];
        return (isNaN(x) || isNaN(y) ? key(a).localeCompare(key(b)) : x - y) * (rising ? 1 : -1);
      };
      body.append(...[...body.rows].sort(order));
    });
  });
}
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details.more")) d.open = true; });
