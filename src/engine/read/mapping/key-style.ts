/** How the name of a column becomes a key: `Annual Revenue ($)` is `annual_revenue` or `annualRevenue`. */
import type { KeyStyle } from '../../model.js';

/** Words: at capitals that begin one (`companyID`, `companyIDs`, `HTTPServer`), and at whatever is neither letter nor digit. */
const WORD =
  /\p{Lu}{2,}s(?![\p{L}\p{M}\p{N}])|\p{Lu}+(?![\p{Ll}\p{M}])\p{N}*|\p{Lu}?[\p{Ll}\p{Lo}\p{Lm}\p{Lt}\p{M}\p{N}]+/gu;

export function keyStyle(style: KeyStyle = 'as-is'): (column: string) => string {
  if (style === 'as-is') return (column) => column;
  return (column) => {
    const words = (column.match(WORD) ?? []).map((word) => word.toLowerCase());
    // A name of signs alone stays what it is.
    if (words.length === 0) return column;
    if (style === 'snake_case') return words.join('_');
    return words.map((word, at) => (at === 0 ? word : capital(word))).join('');
  };
}

function capital(word: string): string {
  const [first = ''] = word;
  return first.toUpperCase() + word.slice(first.length);
}
