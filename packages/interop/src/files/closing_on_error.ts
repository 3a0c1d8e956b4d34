/** The result of `read`; if that fails, `source` is closed. */
export async function closingOnError<Result>(
  source: { close(): Promise<void> },
  read: () => Promise<Result>,
): Promise<Result> {
  try {
    return await read()
  } catch (error) {
    await source.close()
    throw error
  }
}
