import type { BuildOptions } from 'esbuild'

/**
 * Bundles a program in TypeScript, with the sources of the workspace packages it imports, into one file for Node.js 20 or
 * later.
 *
 * @param entry A path, or source text with the folder against which its relative imports are resolved
 */
export function bundleProgram(
  entry: string | { readonly contents: string; readonly resolveDir: string },
  outfile: string,
  options?: Pick<BuildOptions, 'alias' | 'external' | 'plugins'>,
): Promise<void>
