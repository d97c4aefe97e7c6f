// Loaded into the built command with --import: appends what it opens and syncs to the file `SYNCS`.
import fs from 'node:fs';

const { fsyncSync, openSync, appendFileSync } = fs;
let isLogging = false;
const log = (line) => {
  if (isLogging) return;
  isLogging = true;
  appendFileSync(process.env.SYNCS, `${line}\n`);
  isLogging = false;
};
fs.fsyncSync = (handle) => {
  log(`sync ${fs.readlinkSync(`/proc/self/fd/${handle}`)}`);
  fsyncSync(handle);
};
fs.openSync = (path, ...how) => {
  log(`open ${path}`);
  return openSync(path, ...how);
};
