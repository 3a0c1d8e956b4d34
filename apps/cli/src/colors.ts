import pc from 'picocolors'

/** Colors for a terminal, none for a file or a pipe; NO_COLOR and FORCE_COLOR decide otherwise (https://no-color.org). */
export function colorsOf(stream: Pick<NodeJS.WriteStream, 'isTTY'>, environment: NodeJS.ProcessEnv) {
  const { NO_COLOR, FORCE_COLOR = '0', TERM } = environment
  return pc.createColors(!NO_COLOR && (FORCE_COLOR !== '0' || (stream.isTTY === true && TERM !== 'dumb')))
}

/** Standard output. */
export const colors = colorsOf(process.stdout, process.env)
/** Standard error. */
export const errorColors = colorsOf(process.stderr, process.env)
