// A service that takes its time: how near the import comes to requests x latency / concurrency.
import { interleave } from './measure.mjs';
import { seconds, table, times } from './report.mjs';
import { importTimed, input, startSink } from './workbench.mjs';

export const title = 'Latency';

const CONCURRENCY = 8; // as in FAST

export async function measure({ rows, runs }) {
  const file = await input('csv', rows);
  const requests = Math.ceil(rows / 1000);
  const latencies = [50, 200];
  const sinks = await Promise.all(latencies.map((latency) => startSink({ latency })));
  try {
    const cases = Object.fromEntries(
      latencies.map((latency, index) => [`${latency} ms`, importTimed(file, sinks[index].url)]),
    );
    const samples = await interleave(cases, runs);
    const lines = latencies.map((latency) => {
      const taken = samples[`${latency} ms`];
      const bound = (requests * latency) / CONCURRENCY;
      return [
        `${latency} ms`,
        `${(bound / 1000).toFixed(2)} s`,
        seconds(taken.map(({ sending }) => sending)),
        times(taken.map(({ sending }) => sending / bound)),
        seconds(taken.map(({ wall }) => wall)),
        times(taken.map(({ wall }) => wall / bound)),
      ];
    });
    const head = [
      'sink',
      'requests x latency / 8',
      'sending',
      'of the bound',
      'whole process',
      'of the bound',
    ];
    return `${table(head, lines)}\n\nSending is the time from the plan's event to the summary's; before it nothing is sent.`;
  } finally {
    await Promise.all(sinks.map((sink) => sink.stop()));
  }
}
