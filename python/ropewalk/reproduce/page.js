for (const box of document.querySelectorAll("input[data-verdict]")) {
  box.addEventListener("change", () => {
    for (const row of document.querySelectorAll("tr." + box.dataset.verdict)) row.hidden = !box.checked;
  });
}
