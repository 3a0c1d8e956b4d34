/** Matches an error of the code, and of the fields where some are given. */
export function coded(code: string, fields?: object): object
