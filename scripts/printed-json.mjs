/** The one JSON document that a process prints, such as `profiles sandbox --json`, as soon as it is whole. */
export async function printedJson(stream) {
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
    try {
      return JSON.parse(text);
    } catch {
      // More is to come.
    }
  }
  throw new Error('the sandbox ended before it said where it listens');
}
