/** `--report`: one page of an import, however it ended. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { status } from '../../loss/faults.js';
import { cli, scratch } from '../../support/cli.js';
import { FaultServer, type Strike } from '../../support/fault-server.js';

const FAST = ['-o', 'interval=5ms', '-o', 'retry_delay=5ms'];
const ROWS = 'company_id,name,size\nacme-1,Ada Nowak,7\nacme-2,Grace Okafor,x\nacme-3,Zoë,9\n';

const place = (): string => scratch({ 'in.csv': ROWS });

describe('a report that cannot be written at the end', () => {
  /** Sends to a service that, with its first request, sees another file take the report's name. */
  async function taken(trouble?: Strike): Promise<{ code: number; stderr: string; cwd: string }> {
    const service = await new FaultServer().start();
    onTestFinished(() => service.stop());
    const cwd = place();
    const take = (): void => writeFileSync(join(cwd, 'report.html'), 'somebody else');
    if (!trouble) service.during(1, take);
    else {
      const strike: Strike = (exchange) => {
        take();
        return trouble(exchange);
      };
      service.trouble = { submit: () => strike };
    }
    const words = [
      'import',
      'in.csv',
      ...FAST,
      '--skip-invalid',
      '--type',
      'size=integer',
      '--report',
      'report.html',
    ];
    const env = { PROFILES_BASE_URL: service.url, PROFILES_TOKEN: 'tok_0123456789' };
    return { ...(await cli(words, { cwd, env })), cwd };
  }
  const WORDS = 'report.html cannot be written: it exists, and is not a report\n';

  test('is exit 1 and one sentence', async () => {
    const { code, stderr, cwd } = await taken();
    expect(code).toBe(1);
    expect(stderr).toContain(`\nprofiles: ${WORDS}`);
    expect(stderr).not.toMatch(/\n +at /);
    expect(readFileSync(join(cwd, 'report.html'), 'utf8')).toBe('somebody else');
    expect(readFileSync(join(cwd, 'in.rejects.csv'), 'utf8')).toContain('_profiles_error');
  });

  test('does not hide what ended the import', async () => {
    const { code, stderr } = await taken(status(422));
    expect(code).toBe(6);
    expect(stderr).toContain(WORDS);
    expect(stderr).toMatch(/profiles: .*422/);
  });
});
