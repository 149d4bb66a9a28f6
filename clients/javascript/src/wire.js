/**
 * Types of the API's requests and responses, with the names of `infra/openapi.yaml`.
 *
 * @module
 */

/**
 * A client tool call.
 * @typedef {{ ToolCallId: string, Name: string, ArgumentsJson: string }} ToolCall
 *
 * The result of a call: either `ResultJson` or `ErrorMessage`.
 * @typedef {{ ToolCallId: string, ExecutionMs: number, ResultJson?: string, ErrorMessage?: string }} ToolResult
 *
 * A file of an answer. `aptix.open(file.Url)` downloads it.
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
 * The envelope of every JSON response.
 * @template T
 * @typedef {{ Successful: boolean, Result: T | null, Errors: WireError[], Warnings: Warning[] }} Envelope
 */

/**
 * @typedef {{ Id: string, Text: string }} EntityHeader
 *
 * @typedef {{ Amount: string, Currency: string }} Cost
 *
 * Ratings of a session's turns: one per user and turn.
 * @typedef {{ Count: number, Mean: number }} Ratings
 *
 * A session in a list.
 * @typedef {{
 *   Id: string, Name: string, Key: string, IsPublic: boolean, LastUpdatedDate: string, TurnCount: number,
 *   Description?: string, Category?: string, Ratings?: Ratings, LastTurnDate?: string, LastTurnStatus?: 'pending' | 'completed' | 'failed',
 *   AgentContextId?: string, AgentContextName?: string,
 *   ConversationContextId?: string, ConversationContextName?: string,
 *   AgentContextVersion?: number, ConversationContextVersion?: number,
 *   Visibility?: 'org' | 'participants', IsDeleted?: boolean, DeletedDate?: string, KeptUntilDate?: string,
 *   QuarantinedDate?: string,
 * }} SessionSummary
 *
 * A search result: a session and its matches. Matches in the session itself come first, then those in turns, newest first.
 * @typedef {{
 *   Session: SessionSummary,
 *   Matches: {
 *     MatchedIn: 'name' | 'description' | 'instruction' | 'answer', TurnId?: string, SequenceNumber?: number,
 *     Snippet: string, Marks: { Start: number, Length: number }[],
 *   }[],
 * }} SessionMatch
 *
 * A turn of a session. The OpenAPI document lists all members.
 * @typedef {{
 *   Id: string, ConversationId: string, SequenceNumber: number, CreatedByUser: EntityHeader, CreationDate: string,
 *   Status: EntityHeader, StatusReason?: string, ErrorCode?: string, StatusTimeStamp: string, Mode: string, InstructionSummary: string, InstructionSummaryTruncated?: boolean,
 *   FullInstructionUrl: string, AgentAnswerSummary?: string, AgentAnswerSummaryTruncated?: boolean, FullAgentAnswerUrl?: string,
 *   PartialAnswerSummary?: string, PartialAnswerSummaryTruncated?: boolean, Warnings: string[], Errors: string[],
 *   Waiting?: { Approvals: { ApprovalId: string, Url: string, Tool: string, ToolCallId: string, ExpiresDate: string }[] },
 *   Usage?: Usage, EstimatedTokens?: number, Cost?: Cost, ClientToolMs?: number, [member: string]: unknown,
 * }} SessionTurn
 *
 * A call of a tool that waits for a person, or its answer.
 * @typedef {{
 *   ApprovalId: string, Status: 'pending' | 'approved' | 'denied' | 'expired' | 'closed', SessionId: string, TurnId: string,
 *   Round: number, ToolCallId: string, Hash: string, Tool: string, ConnectionId: string, ConnectionVersion: number,
 *   ArgumentsJson: string, EditedArgumentsJson?: string, AskedByUserId: string, MayAnswer: boolean, MayEdit?: boolean,
 *   CreationDate: string, ExpiresDate: string, AnsweredByUser?: EntityHeader, AnsweredDate?: string, Reason?: string,
 * }} Approval
 *
 * A step of a turn: a reply of the model and the results of its calls. The OpenAPI document lists all members.
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
 * The summary of a turn.
 * @typedef {{
 *   Id: string, SessionId: string, SequenceNumber: number, CreatedByUser: EntityHeader, CreationDate: string,
 *   Status: EntityHeader, StatusTimeStamp: string, InstructionSummary: string, InstructionSummaryTruncated?: boolean, AgentAnswerSummary?: string,
 *   AgentAnswerSummaryTruncated?: boolean, PartialAnswerSummary?: string, PartialAnswerSummaryTruncated?: boolean,
 *   [member: string]: unknown,
 * }} TurnSummary
 *
 * A session with at most 100 of its turns. The OpenAPI document lists all members.
 * @typedef {{
 *   Id: string, Name: string, Mode: string, TurnCount: number, Turns: SessionTurn[], ContinuationToken?: string,
 *   OwnerUser: EntityHeader, CreationDate: string, LastUpdatedDate: string, TotalUsage?: Usage, TotalCosts?: Cost[],
 *   Category?: string, Ratings?: Ratings, Visibility?: 'org' | 'participants',
 *   [member: string]: unknown,
 * }} AgentSession
 *
 * @typedef {{
 *   PreviousMode: string, NewMode: string, TimeStamp: string, Reason: string, Branch: boolean, TurnId: string,
 *   ChangedByUser: EntityHeader, ChangedByOrganization: EntityHeader,
 * }} ModeChange
 */

/**
 * A limit on what turns may consume.
 * @typedef {{
 *   Id: string, Scope: 'org' | 'user' | 'agent' | 'session', Subject?: string, Window: 'turn' | 'concurrent' | 'minute' | 'day' | 'month',
 *   Unit: 'tokens' | 'money' | 'turns', Limit: number, Action?: 'stop' | 'warn', Unpriced?: 'refuse' | 'allow',
 * }} Budget
 *
 * The use of a budget in its current window. The limit compares the sum of `Used` and `Reserved`.
 * @typedef {{
 *   Budget: Budget, WindowEndDate?: string, OmittedMeters: number,
 *   Meters: { Subject?: string, Used: number, Reserved: number, UnpricedTurns?: number }[],
 * }} BudgetUse
 *
 * @typedef {{ Currency?: string, Budgets: BudgetUse[] }} BudgetUseReport
 */

/**
 * One page of a list.
 * @template T
 * @typedef {{ Items: T[], PageSize: number, HasMore: boolean, ContinuationToken?: string }} Page
 */

export {}
