/** A cell as it is shown in a message: in quotes, cut when it is long. */
export function quoted(text: string, most = 60): string {
  return text.length > most ? `"${text.slice(0, most)}…"` : `"${text}"`;
}

/** A JSON value as it is shown in a message. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return '[…]';
  return typeof value === 'object' && value !== null ? '{…}' : String(value);
}
