/** The page's module and style sheet, as the build has written them. */
import { existsSync, readFileSync } from 'node:fs';
import { UsageError } from '../../engine/errors.js';

/** Beside the bundle, or in the build where the sources run as they are. */
const PLACES = ['./', '../../../dist/'];

/** @throws UsageError where the package was not built */
export function readAsset(name: string): string {
  const file = PLACES.map((place) => new URL(place + name, import.meta.url)).find((url) => existsSync(url));
  if (file !== undefined) return readFileSync(file, 'utf8');
  throw new UsageError(`the sandbox's page is not built: ${name} is missing`, { hint: 'npm run build' });
}

/** A row of a table in a ring. */
export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#4338ca"/><path d="M8 10h16M8 16h16M8 22h9" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>';
