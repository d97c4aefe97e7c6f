// A bare transfer, as short as it can be: asks for a URL and prints the body as it comes.
//   node bench/transfer.mjs <url>
import { get } from 'node:http';

get(process.argv[2], { headers: { authorization: 'Token benchmark-token' } }, (response) =>
  response.pipe(process.stdout),
);
