// Runs a sandbox in a process of its own: prints its addresses as one line of JSON, and serves until stdin
// ends.
const [bundle, options] = process.argv.slice(2);
const { startSandbox } = await import(bundle);
const { url, lookupUrl, token, stop } = await startSandbox(JSON.parse(options));
process.stdout.write(`${JSON.stringify({ url, lookupUrl, token })}\n`);
process.stdin.resume().on('end', stop);
