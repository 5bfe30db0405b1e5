"use strict";
for (const code of document.querySelectorAll(".code")) {
  const text = code.querySelector("pre");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  // Where the page may not use the clipboard, the text is selected and copied as a person would.
  const select = () => {
    getSelection().selectAllChildren(text);
    return document.execCommand("copy");
  };
  button.addEventListener("click", async () => {
    let done = true;
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      done = select();
    }
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  code.append(button);
}
