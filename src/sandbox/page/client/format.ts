/** Formats numbers, times, and text for people. */

export const count = (n: number): string => n.toLocaleString('en');

export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;

/** `14:03:22` for a time of today; otherwise with the date. */
export function time(iso: string, now = new Date()): string {
  const at = new Date(iso);
  const clock = at.toLocaleTimeString('en-GB');
  if (at.toDateString() === now.toDateString()) return clock;
  return `${at.toLocaleDateString('en-CA')} ${clock}`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export function bytes(n: number): string {
  if (n < 1_024) return `${n} B`;
  if (n < 1_024 ** 2) return `${(n / 1_024).toFixed(1)} KiB`;
  return `${(n / 1_024 ** 2).toFixed(1)} MiB`;
}

/**
 * Shows characters that would hide, reorder, or break text by their code. With `line` false, line breaks and
 * tabs stay.
 */
export function visible(text: string, line = true): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (char) => {
      if (!line && /[\n\t]/.test(char)) return char;
      const code = char.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
    },
  );
}

/** The CSS class with the color of a job's state. */
const COLORS: Readonly<Record<string, string>> = {
  ...{ queued: 'quiet', validating: 'other', processing: 'accent' },
  ...{ pending_refresh: 'warn', completed: 'good', failed: 'bad' },
};
export const stateColor = (status: string): string => (Object.hasOwn(COLORS, status) ? COLORS[status]! : '');

/** `job 17` for `urn:profiles:job:default/5f3c0a91-17`. */
export const shortJob = (id: string): string =>
  `job ${visible(id.slice(id.lastIndexOf('-') + 1)).slice(0, 80)}`;
