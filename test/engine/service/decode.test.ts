/** Replies that are compressed, although the client does not ask for that. */
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { classify } from '../../../src/engine/service/answer.js';
import { decoded } from '../../../src/engine/service/reply.js';
import { BODY, JOB, testClient } from './support/client.js';
import { httpServer, rawServer } from './support/servers.js';

describe('a reply that is compressed, although nobody asked for that', () => {
  const json = Buffer.from(JSON.stringify(JOB));
  const server = (coding: string | string[], body: Buffer) =>
    httpServer((_, response) => {
      response.statusCode = 202;
      response.setHeader('content-encoding', coding).end(body);
    });

  it.each<[coding: string | string[], body: Buffer]>([
    ['gzip', gzipSync(json)],
    ['X-GZIP', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['deflate', deflateRawSync(json)], // as some servers understand it
    ['br', brotliCompressSync(json)],
    ['br, gzip', gzipSync(brotliCompressSync(json))],
    [['br', 'gzip'], gzipSync(brotliCompressSync(json))],
    ['identity', json],
    [['gzip', 'identity'], gzipSync(json)],
    ['utf-8', json], // not compressed at all
    ['gzip', json], // a proxy has decompressed it, and kept the header
    ['gzip, gzip', gzipSync(json)], // likewise, of what was compressed twice
    ['gzip, br', gzipSync(json)],
    ['br, gzip', brotliCompressSync(json)],
  ])('%s: its job is found', async (coding, body) => {
    const client = testClient((await server(coding, body)).url);
    const answer = await client.submit('companies', BODY);
    expect(answer).toMatchObject({ type: 'reply', status: 202, body: json.toString() });
  });

  const zstd = Buffer.from('28b52ffd', 'hex');
  it.each(['zstd', 'compress'])('%s: is named', async (coding) => {
    const { url } = await httpServer((_, response) => {
      response.writeHead(202, { 'content-type': 'application/json', 'content-encoding': coding }).end(zstd);
    });
    const client = testClient(url);
    const came = `data compressed with ${coding}`;
    expect(classify(await client.submit('companies', BODY), 0)).toMatchObject({
      why: 'doubt',
      reason: expect.stringContaining(came),
    });
    await expect(client.job('j')).rejects.toThrow(`answered 202 Accepted with ${came}`);
  });

  it.each<[coding: string, compress: (text: Buffer) => Buffer]>([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
  ])('%s: gives up one that is far larger decompressed', async (coding, compress) => {
    const body = compress(Buffer.alloc(20 << 20, ' '));
    const client = testClient((await server(coding, body)).url);
    expect(await client.submit('companies', BODY)).toMatchObject({
      type: 'lost',
      reason: expect.stringMatching(/sent a reply of more than 8 MiB$/),
    });
  });

  it('at most three encodings are undone', async () => {
    const times = (count: number): Buffer =>
      Array.from({ length: count }).reduce<Buffer>((bytes) => gzipSync(bytes), json);
    const submit = async (count: number) => {
      const { url } = await server(Array.from<string>({ length: count }).fill('gzip'), times(count));
      return testClient(url).submit('companies', BODY);
    };
    expect(await submit(3)).toMatchObject({ status: 202, body: json.toString() });
    expect(classify(await submit(4), 0)).toMatchObject({
      why: 'doubt',
      reason: expect.stringContaining('text that is not JSON'),
    });
  });

  it('other work goes on while it is decoded', async () => {
    const long = Buffer.alloc(7 << 20, ' ');
    let turns = 0;
    const turning = setInterval(() => turns++, 0);
    onTestFinished(() => clearInterval(turning));
    const content = await decoded(gzipSync(gzipSync(long)), 'gzip, gzip', 8 << 20);
    expect([content?.bytes.equals(long), turns > 0]).toEqual([true, true]);
  });

  it('is not complete if it was cut off', async () => {
    const whole = gzipSync(Buffer.from(JSON.stringify({ ...JOB, links: 'x'.repeat(1_000) })));
    const head = 'HTTP/1.1 202 Accepted\r\nContent-Encoding: gzip\r\n\r\n';
    const { url } = await rawServer((socket) => {
      socket.write(head);
      socket.end(whole.subarray(0, -12));
    });
    expect(await testClient(url).submit('companies', BODY)).toMatchObject({
      type: 'lost',
      reason: expect.stringContaining('closed the connection in the middle of its reply'),
    });
  });
});
