/**
 * Processor time since `before` (`process.cpuUsage()`), milliseconds. On a machine that is not the test's alone it says
 * more of the code than the wall clock does.
 */
export function cpuMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
