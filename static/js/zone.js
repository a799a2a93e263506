// Offers the time zone of the device on the page of one's settings; it is chosen only by saving.
"use strict";

(() => {
  function offer() {
    const place = document.querySelector("[data-zone-offer]");
    if (!place) return;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const list = document.getElementById("time_zone");
    const isOffered = [...list.options].some((option) => option.value === zone) && list.value !== zone;
    place.querySelector("[data-zone]").textContent = zone;
    place.hidden = !isOffered;
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-take-zone]")) return;
    const list = document.getElementById("time_zone");
    list.value = document.querySelector("[data-zone]").textContent;
    list.focus();
    offer();
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "time_zone") offer();
  });
  document.addEventListener("htmx:afterSettle", offer);
  document.addEventListener("DOMContentLoaded", offer);
})();
