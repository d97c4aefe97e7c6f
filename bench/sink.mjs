// A service that costs nothing: reads each request to its end, accepts it after a fixed latency, and says
// that every job is completed. What is left of a run's time against it is the importer's own.
//   node bench/sink.mjs [latency ms] [count]
// Prints its URL; ends with its standard input, and says then what it received. With `count` it also counts
// rows, by their key, which costs it time. Paths that are not the service's are answered so that other
// importers are content too.
import { createServer } from 'node:http';

const [latency = '0', count] = process.argv.slice(2);
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

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => {
    received.bytes += chunk.length;
    if (count) chunks.push(chunk);
  });
  request.on('end', () => {
    if (request.method !== 'GET') received.requests++;
    if (count) received.rows += Buffer.concat(chunks).toString('latin1').split(KEY).length - 1;
    const answer = () => {
      const { status, body } = answerTo(request);
      response.writeHead(status, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...(body === PEERS && { 'x-elastic-product': 'Elasticsearch' }),
      });
      response.end(body);
    };
    if (latency === '0') answer();
    else setTimeout(answer, Number(latency));
  });
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on('end', () => {
  console.log(JSON.stringify(received));
  process.exitCode = 0;
  server.close();
  server.closeAllConnections();
});
