/**
 * The errors that this package defines. docs/errors.md, the types and the check of every code are made of it.
 *
 * @public
 */
export const ERROR_CODES = {
  ERR_FILE_EXISTS: {
    meaning: 'the file to write exists',
    remedy: 'name another; where `--out` names it, it is replaced',
  },
  ERR_OUTPUT_FILE: {
    meaning: 'the system refused to write a file, or the path is not a regular file',
    remedy: 'name another path; `cause` has the reason',
  },
} as const

/** Codes of the errors that this package defines. */
export type FilesErrorCode = keyof typeof ERROR_CODES
