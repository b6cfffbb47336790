// Short sounds, made by the browser itself; off until they are switched on.

const KEY = "sound";
/** @type {AudioContext | null} */
let context = null;
let on = kept();

function kept() {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
}

/** @param {number} pitch hertz @param {number} after seconds @param {number} length seconds */
function tone(pitch, after, length) {
  if (!on) return;
  context ??= new AudioContext();
  const at = context.currentTime + after;
  const source = context.createOscillator();
  const volume = context.createGain();
  source.type = "triangle";
  source.frequency.setValueAtTime(pitch, at);
  volume.gain.setValueAtTime(0.18, at);
  volume.gain.exponentialRampToValueAtTime(0.001, at + length);
  source.connect(volume).connect(context.destination);
  source.start(at);
  source.stop(at + length);
}

/** A move; the others' are lower. @param {boolean} own */
export const tap = (own) => tone(own ? 520 : 350, 0, 0.07);

/** The end. */
export function over() {
  tone(440, 0, 0.16);
  tone(660, 0.17, 0.3);
}

/** Ten seconds are left. */
export const hurry = () => tone(880, 0, 0.12);

/** Let a button switch the sounds. @param {HTMLElement | null} button */
export function switched(button) {
  if (!button) return;
  const show = () => {
    button.setAttribute("aria-pressed", String(on));
    button.title = on ? "Sound: on" : "Sound: off";
  };
  button.addEventListener("click", () => {
    on = !on;
    try {
      localStorage.setItem(KEY, on ? "on" : "off");
    } catch {
      // until the page is left
    }
    show();
    tap(true);
  });
  show();
}
