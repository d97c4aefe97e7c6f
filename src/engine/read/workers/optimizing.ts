import { setFlagsFromString } from 'node:v8';
export const optimizeLess = (): void => setFlagsFromString(`--interrupt-budget=${process.env.BUD ?? 400000}`);
export const optimizeAsUsual = (): void => setFlagsFromString('--interrupt-budget=67584');
