import { describe, expect } from 'vitest';
import { cli } from '../../support/cli.js';
import { environmentOf, test } from '../../support/sandbox.js';
import { http, rawServer } from '../../support/servers.js';

describe('values that identify warns about or refuses', () => {
  test('stopped before sending, or with an unknown outcome: it says which', async ({ sandbox }) => {
    const identify = (signals: { stop: AbortSignal; abort?: AbortSignal }) =>
      cli(['identify', 'company', 'c1'], { env: environmentOf(sandbox), ...signals });
    sandbox.faults.add('hang:every=1,on=any');
    const [stop, abort] = [new AbortController(), new AbortController()];
    const meanwhile = identify({ stop: stop.signal, abort: abort.signal });
    await expect.poll(() => sandbox.ledger()).toHaveLength(1);
    stop.abort('SIGINT'); // leaves a request in flight its time

    const before = await identify({ stop: AbortSignal.abort('SIGTERM') });
    expect([before.code, before.stderr]).toEqual([143, expect.stringContaining('nothing was sent')]);
    expect(sandbox.ledger()).toHaveLength(1);

    abort.abort('SIGINT');
    const { code, stderr } = await meanwhile;
    expect([code, stderr]).toEqual([130, expect.stringContaining('it may have been sent')]);
  });

  test('accepted, but the reply has errors: they are shown', async () => {
    const body = '{"errors":[{"error_code":"E","message":"no such plan"}]}';
    const { url } = await rawServer((socket) => socket.write(http(200, body)));
    const env = { PROFILES_BASE_URL: url, PROFILES_TOKEN: 'tok_0123456789' };
    const { code, stderr } = await cli(['identify', 'company', 'c1'], { env });
    expect([code, stderr]).toEqual([0, expect.stringContaining('accepted with 200 OK: E: no such plan')]);
  });
});
