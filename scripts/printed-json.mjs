/**
 * Reads the JSON document that a process prints, such as `profiles sandbox --json`, and resolves as soon as
 * it is complete.
 */
export async function printedJson(stream) {
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
    try {
      return JSON.parse(text);
    } catch {
      // Not complete yet.
    }
  }
  throw new Error('the sandbox ended before it said where it listens');
}
