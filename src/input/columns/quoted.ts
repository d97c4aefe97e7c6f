/** A cell as it is shown in a message: in quotes, cut when it is long. */
export function quoted(text: string, most = 60): string {
  return text.length > most ? `"${text.slice(0, most)}…"` : `"${text}"`;
}
