// Opens and closes the parts of the document; filters by verdict and by words. Parts in which something differs are open at
// first; without this all are.
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const groups = all("tbody").map((body) => ({ button: body.querySelector("button"), body, rows: all("tr:not(.part)", body) }));
  const boxes = all("input[data-verdict]");
  const find = document.getElementById("find");
  const total = groups.reduce((sum, group) => sum + group.rows.length, 0);

  const open = (group, wanted) => group.button.setAttribute("aria-expanded", String(wanted));

  const show = () => {
    const verdicts = boxes.filter((box) => box.checked).map((box) => box.dataset.verdict);
    const words = find.value.trim().toLowerCase();
    let shown = 0;
    for (const { button, body, rows } of groups) {
      const matching = rows.filter((row) => verdicts.includes(row.className)
        && (!words || `${button.textContent} ${row.textContent}`.toLowerCase().includes(words)));
      body.hidden = matching.length === 0;
      shown += matching.length;
      const closed = button.getAttribute("aria-expanded") === "false";
      for (const row of rows) row.hidden = closed || !matching.includes(row);
    }
    document.getElementById("shown").textContent = shown === total ? `${total} claims` : `${shown} of ${total} claims`;
  };

  // A line that the reader looks for is shown.
  const narrow = () => {
    const everything = !find.value.trim() && boxes.every((box) => box.checked);
    for (const group of groups) open(group, !everything || "differs" in group.body.dataset);
    show();
  };

  // A link to a claim opens its part and takes filters away.
  const visit = () => {
    const row = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const group = row && groups.find(({ rows }) => rows.includes(row));
    if (!group) return;
    find.value = "";
    for (const box of boxes) box.checked = true;
    open(group, true);
    show();
    row.scrollIntoView();
  };

  for (const group of groups) {
    group.button.addEventListener("click", () => {
      open(group, group.button.getAttribute("aria-expanded") === "false");
      show();
    });
  }
  for (const button of all("[data-open]")) {
    button.addEventListener("click", () => {
      for (const group of groups) open(group, button.dataset.open === "true");
      show();
    });
  }
  for (const box of boxes) box.addEventListener("change", narrow);
  find.addEventListener("input", narrow);
  window.addEventListener("beforeprint", () => {
    document.querySelector("[data-open=true]").click();
    for (const details of all("details")) details.open = true;
  });
  const figures = document.getElementById("figures");
  if (figures && matchMedia("(max-width: 46rem)").matches) figures.open = false;
  narrow();
  visit();
  window.addEventListener("hashchange", visit);
})();
