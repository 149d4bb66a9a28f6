/**
 * What the API writes and reads, spelled as `infra/openapi.yaml` has it. Types alone.
 *
 * @module
 */

/**
 * A call that the client must run.
 * @typedef {{ ToolCallId: string, Name: string, ArgumentsJson: string }} ToolCall
 *
 * What a call came to: exactly one of `ResultJson` and `ErrorMessage`.
 * @typedef {{ ToolCallId: string, ExecutionMs: number, ResultJson?: string, ErrorMessage?: string }} ToolResult
 *
 * A file that an answer refers to; `aptix.open(file.Url)` reads it.
 * @typedef {{ Name: string, MimeType: string, SizeBytes: number, Url: string, ContentHash: string, Description?: string }} FileRef
 *
 * @typedef {{
 *   PromptTokens: number, CompletionTokens: number, TotalTokens: number,
 *   CachedTokens?: number, CacheWriteTokens?: number, ReasoningTokens?: number,
 * }} Usage
 *
 * @typedef {{
 *   Kind: 'final', SessionId: string, TurnId: string, ModeDisplayName: string, PrimaryOutputText: string,
 *   Files?: FileRef[], Usage?: Usage, UserWarnings?: string[], ToolResults?: ToolResult[],
 * }} Final
 *
 * @typedef {{
 *   Kind: 'client_tool_continuation', SessionId: string, TurnId: string, ModeDisplayName: string,
 *   ToolCalls: ToolCall[], ToolContinuationMessage?: string,
 * }} Continuation
 *
 * @typedef {{
 *   ErrorCode: string, Message: string, Details?: string, SystemError: boolean,
 *   Retry?: import('./errors.js').Retry, RetryAfterSeconds?: number,
 * }} WireError
 *
 * @typedef {{ Message: string, ErrorCode?: string }} Warning
 */

/**
 * The envelope of every JSON body.
 * @template T
 * @typedef {{ Successful: boolean, Result: T | null, Errors: WireError[], Warnings: Warning[] }} Envelope
 */

/**
 * @typedef {{ Id: string, Text: string }} EntityHeader
 *
 * @typedef {{ Amount: string, Currency: string }} Cost
 *
 * A session as a line of a list.
 * @typedef {{
 *   Id: string, Name: string, Key: string, IsPublic: boolean, LastUpdatedDate: string, TurnCount: number,
 *   Description?: string, LastTurnDate?: string, LastTurnStatus?: 'pending' | 'completed' | 'failed',
 *   AgentContextId?: string, AgentContextName?: string,
 *   ConversationContextId?: string, ConversationContextName?: string,
 *   Visibility?: 'org' | 'participants', IsDeleted?: boolean, DeletedDate?: string, KeptUntilDate?: string,
 * }} SessionSummary
 *
 * A session that a search found, and where: its own texts first, then those of its turns, newest first.
 * @typedef {{
 *   Session: SessionSummary,
 *   Matches: {
 *     MatchedIn: 'name' | 'description' | 'instruction' | 'answer', TurnId?: string, SequenceNumber?: number,
 *     Snippet: string, Marks: { Start: number, Length: number }[],
 *   }[],
 * }} FoundSession
 *
 * A turn of a session. More members are in the API's document.
 * @typedef {{
 *   Id: string, ConversationId: string, SequenceNumber: number, CreatedByUser: EntityHeader, CreationDate: string,
 *   Status: EntityHeader, StatusReason?: string, ErrorCode?: string, StatusTimeStamp: string, Mode: string, InstructionSummary: string, InstructionSummaryTruncated?: boolean,
 *   FullInstructionUrl: string, AgentAnswerSummary?: string, AgentAnswerSummaryTruncated?: boolean, FullAgentAnswerUrl?: string,
 *   PartialAnswerSummary?: string, PartialAnswerSummaryTruncated?: boolean, Warnings: string[], Errors: string[],
 *   Usage?: Usage, Cost?: Cost, ClientToolMs?: number, [member: string]: unknown,
 * }} SessionTurn
 *
 * One reply of the model and what came of its calls. More members are in the API's document.
 * @typedef {{
 *   Round: number, Kind: 'tools' | 'answer' | 'partial_answer', Text?: string, FullTextUrl?: string, Calls?: StepCall[], ToolDeadlineDate?: string,
 *   Attempt?: number, AskedDate?: string, ModelMs?: number, Usage?: Usage, OpenAIModel?: string,
 *   OpenAIRequestPayloadUrl?: string, OpenAIResponsePayloadUrl?: string, [member: string]: unknown,
 * }} TurnStep
 *
 * @typedef {{
 *   ToolCallId: string, Name: string, ArgumentsJson: string, FullArgumentsJsonUrl?: string, IsPending: boolean,
 *   RanBy?: 'server' | 'client', ExecutionMs?: number, ResultJson?: string, FullResultJsonUrl?: string, ErrorMessage?: string,
 *   FullErrorMessageUrl?: string,
 * }} StepCall
 *
 * A turn in a few lines.
 * @typedef {{
 *   Id: string, SessionId: string, SequenceNumber: number, CreatedByUser: EntityHeader, CreationDate: string,
 *   Status: EntityHeader, StatusTimeStamp: string, InstructionSummary: string, InstructionSummaryTruncated?: boolean, AgentAnswerSummary?: string,
 *   AgentAnswerSummaryTruncated?: boolean, PartialAnswerSummary?: string, PartialAnswerSummaryTruncated?: boolean,
 *   [member: string]: unknown,
 * }} TurnSummary
 *
 * A session with its turns, at most a hundred of them. More members are in the API's document.
 * @typedef {{
 *   Id: string, Name: string, Mode: string, TurnCount: number, Turns: SessionTurn[], ContinuationToken?: string,
 *   OwnerUser: EntityHeader, CreationDate: string, LastUpdatedDate: string, TotalUsage?: Usage, TotalCosts?: Cost[],
 *   [member: string]: unknown,
 * }} AgentSession
 *
 * @typedef {{
 *   PreviousMode: string, NewMode: string, TimeStamp: string, Reason: string, Branch: boolean, TurnId: string,
 *   ChangedByUser: EntityHeader, ChangedByOrganization: EntityHeader,
 * }} ModeChange
 */

/**
 * One page of a list.
 * @template T
 * @typedef {{ Items: T[], PageSize: number, HasMore: boolean, ContinuationToken?: string }} Page
 */

export {}
