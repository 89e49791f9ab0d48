// Asks for the API key when the server wants one.

import { currentKey, getJson, useKey, whenUnauthorized } from "./api.js";
import { byId } from "./dom.js";
import { t } from "./words.js";

/** `accepted()` is called after a key was found to work. */
export function setUpKey(accepted) {
  const [dialog, field, error, button] = [byId("key-dialog"), byId("key-field"), byId("key-error"), byId("key-button")];
  button.hidden = !currentKey();
  const open = (message) => {
    button.hidden = false;
    error.textContent = message;
    field.value = "";
    if (!dialog.open) dialog.showModal();
    field.focus();
  };
  whenUnauthorized(() => open(currentKey() ? t("key.unknown") : ""));
  button.addEventListener("click", () => open(""));
  byId("key-close").addEventListener("click", () => dialog.close());
  byId("key-forget").addEventListener("click", () => {
    useKey(null);
    dialog.close();
  });
  byId("key-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!field.value.trim()) {
      error.textContent = t("key.empty");
      return;
    }
    useKey(field.value.trim());
    try {
      await getJson("/v1/backends");
      dialog.close();
      accepted();
    } catch (problem) {
      if (problem.status === 401) useKey(null);
      else error.textContent = problem.message;
    }
  });
}
