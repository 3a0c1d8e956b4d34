import pc from 'picocolors'

/** Colors for a terminal, none for a file or a pipe; NO_COLOR and FORCE_COLOR decide otherwise (https://no-color.org). */
function colorsOf(stream: NodeJS.WriteStream) {
  const { NO_COLOR, FORCE_COLOR = '0', TERM } = process.env
  return pc.createColors(!NO_COLOR && (FORCE_COLOR !== '0' || (stream.isTTY === true && TERM !== 'dumb')))
}

/** Standard output. */
export const colors = colorsOf(process.stdout)
/** Standard error. */
export const errorColors = colorsOf(process.stderr)
