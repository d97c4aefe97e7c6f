/**
 * Splits JSON text into the texts of its parts, so that values can be kept as they were written: `1.10` stays
 * `1.10`, and no number becomes a double. The text must be valid JSON (`JSON.parse` has accepted it), because
 * nothing is checked here.
 */

const TOKEN = /\s+|"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/sy;

/**
 * Visits the members of the object, or the elements of the array, at index `at`, in order: where each value begins and
 * ends, and its key.
 */
export function eachPart(
  json: string,
  at: number,
  visit: (start: number, end: number, key: string) => void,
): void {
  const token = new RegExp(TOKEN);
  token.lastIndex = at;
  let [depth, start, end, key] = [0, -1, -1, ''];
  for (let from = at; token.test(json); from = token.lastIndex) {
    const sign = json.charAt(from);
    const closes = sign === '}' || sign === ']';
    if (closes) depth--;
    if (start >= 0 && (depth === 0 || (depth === 1 && sign === ','))) visit(start, end, key);
    if (closes && depth === 0) return;
    if (depth === 1 && sign === ':') key = JSON.parse(json.slice(start, end)) as string;
    if (depth === 1 && (sign === ',' || sign === ':')) start = -1;
    else if (depth === 1 && sign > ' ') {
      if (start < 0) start = from;
      end = token.lastIndex;
    }
    if (sign === '{' || sign === '[') depth++;
  }
}

/**
 * The members of an object: the text of each value by its key. The last value of a repeated key wins, as with
 * `JSON.parse`.
 */
export function members(json: string): Map<string, string> {
  const found = new Map<string, string>();
  eachPart(json, 0, (start, end, key) => found.set(key, json.slice(start, end)));
  return found;
}
