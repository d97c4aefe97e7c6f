/**
 * A queue worker: profiles that change in your application arrive one by one, and go out in bulk.
 *
 *   SERVICE_URL=https://… SERVICE_TOKEN=… node worker.js < changes.ndjson
 *
 * Here, the queue is stdin: one company on a line, as `{"company_id": "…", "metadata": {…}}`. What matters is the order:
 * a message is acknowledged once the import that holds it has ended. If the worker dies before, the queue delivers the
 * message again, and an upsert makes that safe.
 */
import { createInterface } from 'node:readline';
import { runImport } from 'profiles-cli';

const { SERVICE_URL = '', SERVICE_TOKEN = '', STATE_DIR = '.profiles-state' } = process.env;
const BATCH = 1_000;

interface Message {
  body: { company_id: string; metadata: object };
  /** Takes the message out of the queue. */
  acknowledge(): void;
}

async function* messages(): AsyncGenerator<Message> {
  for await (const line of createInterface({ input: process.stdin }))
    yield { body: JSON.parse(line), acknowledge: () => acknowledged++ };
}

/** Imports what the queue holds, in the order in which it arrived: of two changes of one company, the later one stays. */
async function send(batch: Message[]): Promise<void> {
  const { summary, failure } = await runImport({
    records: batch.map(({ body }) => body),
    kind: 'companies',
    service: { baseUrl: SERVICE_URL, token: SERVICE_TOKEN },
    stateDir: STATE_DIR,
    invalid: 'any', // one bad message does not hold up the others
    onFailure: 'isolate', // nor does one that makes its job fail
  }).result();
  for (const { line, reason } of summary.rejected) console.error(`message ${line}: ${reason}`);
  // Rejected messages would be rejected again, so they are done, too: move them to a dead-letter queue here.
  const { read, completed, merged, rejected } = summary.rows;
  if (completed + merged + rejected < read) throw failure ?? new Error(`the import ended: ${summary.status}`);
  for (const message of batch) message.acknowledge();
}

let acknowledged = 0;
let batch: Message[] = [];
for await (const message of messages()) {
  batch.push(message);
  if (batch.length === BATCH) {
    await send(batch);
    batch = [];
  }
}
if (batch.length > 0) await send(batch);
console.log(`${acknowledged} messages acknowledged`);
