// Runs before textual.js, which opens the websocket when the page has loaded.
"use strict";

const FONT_SIZE = 16;
const SMALLEST_FONT_SIZE = 9;
const CELL_WIDTH = 0.601; // width of a character of Roboto Mono, relative to the font size
const CELL_HEIGHT = 1.32;
const MIN_COLUMNS = 60; // as MIN_TERMINAL_SIZE in tui/app.py
const MIN_ROWS = 15;

// The largest font size with which the app fits the window, such as that of a phone in portrait.
function chooseFontSize() {
  const fitting = Math.floor(window.innerWidth / ((MIN_COLUMNS + 1) * CELL_WIDTH));
  return Math.max(SMALLEST_FONT_SIZE, Math.min(FONT_SIZE, fitting));
}

document.addEventListener("DOMContentLoaded", () => {
  const terminal = document.getElementById("terminal");
  const fontSize = chooseFontSize();
  terminal.dataset.fontSize = fontSize;

  const showIfTooSmall = () => {
    const columns = Math.floor(window.innerWidth / (fontSize * CELL_WIDTH));
    const rows = Math.floor(window.innerHeight / (fontSize * CELL_HEIGHT));
    document.getElementById("small").hidden = columns >= MIN_COLUMNS && rows >= MIN_ROWS;
  };
  showIfTooSmall();
  window.addEventListener("resize", showIfTooSmall);

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
