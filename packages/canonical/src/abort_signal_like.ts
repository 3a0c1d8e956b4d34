/** The used members of an `AbortSignal`. Its type is not named, as not every project has the types of Node.js or the DOM. */
export interface AbortSignalLike {
  readonly aborted: boolean
  readonly reason: unknown
}
