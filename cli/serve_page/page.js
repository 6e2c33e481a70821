// Runs before textual.js, which opens the websocket when the page has loaded.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const terminal = document.getElementById("terminal");
  terminal.dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + "/ws";

  const reopen = document.getElementById("reopen");
  const focus = () => {
    if (document.body.classList.contains("-closed")) {
      reopen.focus(); // Enter opens the app again
    } else if (document.body.classList.contains("-loaded")) {
      terminal.querySelector("textarea").focus(); // keys reach the app without a click
    }
  };
  // textual.js sets these classes when the websocket opens and closes.
  new MutationObserver(focus).observe(document.body, { attributeFilter: ["class"] });
  window.addEventListener("focus", focus);
  terminal.addEventListener("pointerup", focus);
  reopen.addEventListener("click", () => location.reload());
});

// Ctrl+C copies what was selected with Shift and the mouse, and Ctrl+V pastes, as everywhere in a browser. Otherwise
// the terminal would send both keys to the app, which quits with Ctrl+C.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.ctrlKey && !event.altKey && ["c", "v"].includes(event.key.toLowerCase())) {
      event.stopImmediatePropagation();
    }
  },
  true,
);

// textual.js opens downloads in a new window, which browsers block without a recent key press.
const openWindow = window.open;
window.open = (address, ...rest) => {
  if (typeof address === "string" && address.startsWith(location.origin + "/download/")) {
    const link = document.createElement("a");
    link.href = address;
    link.download = "";
    link.click();
    return null;
  }
  return openWindow.call(window, address, ...rest);
};
