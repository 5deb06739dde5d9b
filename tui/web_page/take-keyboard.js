// The terminal takes the keyboard as soon as the app has drawn: nobody has to click into it first.
"use strict";
window.addEventListener("DOMContentLoaded", () => {
  const take = () => {
    const terminal = document.querySelector(".xterm-helper-textarea");
    if (terminal && document.body.classList.contains("-first-byte")) {
      terminal.focus();
      watch.disconnect();
    }
  };
  const watch = new MutationObserver(take);
  watch.observe(document.body, { attributes: true, childList: true, subtree: true });
  take();
});
