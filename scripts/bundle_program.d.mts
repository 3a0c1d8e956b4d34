/** Bundles a program in TypeScript, with the packages it imports, into one file that Node.js runs by itself. */
export function bundleProgram(entry: string, outfile: string, alias?: Readonly<Record<string, string>>): void
