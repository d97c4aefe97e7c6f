// Preloaded into a measured Node process (`node --require`): as it ends, it writes its CPU time and its peak
// memory, all threads included, to the file that BENCH_USAGE names.
const { readFileSync, writeFileSync } = require('node:fs');
const { isMainThread } = require('node:worker_threads');

/** MiB. `maxRSS` counts what a process was before it became this program; the kernel's mark for the program does not. */
function peak() {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))[1]) / 1024;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}

if (isMainThread && process.env.BENCH_USAGE) {
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    const usage = { cpu: (userCPUTime + systemCPUTime) / 1000, peak: peak() };
    writeFileSync(process.env.BENCH_USAGE, JSON.stringify(usage));
  });
}
