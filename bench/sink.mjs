// A service that costs nothing: reads each request to its end, accepts it after a fixed latency, and says
// that every job is completed. What is left of a run's time against it is the importer's own.
//   node bench/sink.mjs [port] [latency ms]     prints its URL; ends with its standard input
import { createServer } from 'node:http';

const [port = '0', latency = '0'] = process.argv.slice(2);
let jobs = 0;

const server = createServer((request, response) => {
  request.on('data', () => {});
  request.on('end', () => {
    const answer = () => {
      const job_id =
        request.method === 'GET' ? decodeURIComponent(request.url.split('/').pop()) : `job-${++jobs}`;
      const status = request.method === 'GET' ? 'completed' : 'queued';
      const body = JSON.stringify({ job_id, status });
      response.writeHead(request.method === 'GET' ? 200 : 202, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    };
    if (latency === '0') answer();
    else setTimeout(answer, Number(latency));
  });
});
server.listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().on('end', () => process.exit(0));
