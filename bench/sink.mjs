// A service that costs nothing: reads each request to its end, accepts it after a fixed latency, and says
// that every job is completed. What is left of a run's time against it is the importer's own.
//   node bench/sink.mjs [latency ms] [count] [tls]
// Prints its URL; ends with its standard input, and says then what it received. With `count` it also counts
// rows, by their key, which costs it time; with `tls` it has the certificate of the tests. Paths that are not the service's are answered so that other
// importers are content too.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecure } from 'node:https';

const [latency = '0', ...words] = process.argv.slice(2);
const [count, tls] = ['count', 'tls'].map((word) => words.includes(word));
const certificate = (end) =>
  readFileSync(new URL(`../test/engine/service/certs/good.${end}`, import.meta.url));
const received = { requests: 0, bytes: 0, rows: 0 };
const KEY = '"company_id":';
let jobs = 0;

const PEERS = '{"ok":true,"status":"OK","code":200,"items":[],"version":{"number":"8.0.0"}}';

function answerTo({ method, url }) {
  if (!url.startsWith('/v1/')) return { status: 200, body: PEERS };
  if (method === 'GET') {
    const job_id = decodeURIComponent(url.split('/').pop());
    return { status: 200, body: JSON.stringify({ job_id, status: 'completed' }) };
  }
  return { status: 202, body: JSON.stringify({ job_id: `job-${++jobs}`, status: 'queued' }) };
}

function answer(request, response) {
  const chunks = [];
  request.on('data', (chunk) => {
    received.bytes += chunk.length;
    if (count) chunks.push(chunk);
  });
  request.on('end', () => {
    if (request.method !== 'GET') received.requests++;
    if (count) received.rows += Buffer.concat(chunks).toString('latin1').split(KEY).length - 1;
    const reply = () => {
      const { status, body } = answerTo(request);
      response.writeHead(status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(body === PEERS && { 'x-elastic-product': 'Elasticsearch' }),
      });
      response.end(body);
    };
    if (latency === '0') reply();
    else setTimeout(reply, Number(latency));
  });
}

const server = tls
  ? createSecure({ cert: certificate('pem'), key: certificate('key') }, answer)
  : createServer(answer);
server.listen(0, '127.0.0.1', () =>
  console.log(`http${tls ? 's' : ''}://127.0.0.1:${server.address().port}`),
);
process.stdin.resume().on('end', () => {
  console.log(JSON.stringify(received));
  process.exitCode = 0;
  server.close();
  server.closeAllConnections();
});
