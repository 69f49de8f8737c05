"use strict";
(() => {
  const part = document.getElementById("live");
  const events = new EventSource(part.dataset.events);
  // The server has escaped the text of the record.
  events.onmessage = (event) => { part.innerHTML = event.data; };
  events.addEventListener("end", (event) => {
    events.close();
    location.replace(event.data);
  });
})();
