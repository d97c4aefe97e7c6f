/**
 * The globalSetup of vitest for `npm run test:postgres`: one server and one pooler for all test files, which
 * have a schema each.
 */
import {
  missingForPostgres,
  startPooler,
  startPostgres,
  type TestPooler,
  type TestPostgres,
} from './postgres.js';

declare module 'vitest' {
  interface ProvidedContext {
    postgres: { folder: string; port: number; pooler: number } | null;
  }
}

export default async function setup({
  provide,
}: {
  provide: (key: 'postgres', value: { folder: string; port: number; pooler: number } | null) => void;
}): Promise<() => Promise<void>> {
  const missing = missingForPostgres();
  if (missing !== null) {
    console.warn(`${missing}: tests that need it are skipped`);
    provide('postgres', null);
    return async () => {};
  }
  const server: TestPostgres = await startPostgres();
  const pooler: TestPooler = await startPooler(server);
  provide('postgres', { folder: server.folder, port: server.port, pooler: pooler.port });
  return async () => {
    await pooler.stop();
    await server.remove();
  };
}
