/** Help about what no single command owns. A text is loaded when it is asked for. */
export interface Topic {
  name: string;
  summary: string;
  /** The whole text, without a line end. */
  load(): Promise<string>;
}

export const TOPICS: readonly Topic[] = [
  {
    name: 'exit-codes',
    summary: 'what each exit code means',
    load: async () => (await import('./exit-codes.js')).exitCodes(),
  },
  {
    name: 'environment',
    summary: 'the variables that are read',
    load: async () => (await import('./environment.js')).environment(),
  },
  {
    name: 'config',
    summary: 'the config file: its place, its keys, and what goes before it',
    load: async () => (await import('./config.js')).config(),
  },
];
