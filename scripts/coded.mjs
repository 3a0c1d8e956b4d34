import { expect } from 'vitest'

/** Matches an error of the code, and of the fields where some are given. */
export const coded = (code, fields = {}) => expect.objectContaining({ code, ...fields })
