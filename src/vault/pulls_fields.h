/*
 * What of GitHub's GraphQL may be asked for about a pull request or an issue: the whole list, and the only one. Included by pulls.c.
 *
 * A type names its plain fields, and the fields that lead to another type. Nothing leads from a repository to another one, but to names: a token
 * may be good for more than the repository of its rule. Nothing leads to what could be used elsewhere, as `tempCloneToken`. Where GitHub
 * has several types at one place (a user, a team, a bot; an issue or a pull request), one type here has the fields of all.
 */

enum pulls_type {
    TYPE_NONE, /* a plain field */
    TYPE_REPOSITORY,
    TYPE_NAMES,
    TYPE_USER,
    TYPE_PERSON,
    TYPE_PEOPLE,
    TYPE_BRANCH,
    TYPE_PROTECTION,
    TYPE_TEMPLATE,
    TYPE_FORKS,
    TYPE_PULLS,
    TYPE_PULL,
    TYPE_COMMENTS,
    TYPE_COMMENT,
    TYPE_COMMENT_EDGE,
    TYPE_REACTIONS,
    TYPE_COUNT,
    TYPE_REVIEWS,
    TYPE_REVIEW,
    TYPE_REVIEW_REQUESTS,
    TYPE_REVIEW_REQUEST,
    TYPE_COMMITS,
    TYPE_COMMIT_PLACE,
    TYPE_COMMIT,
    TYPE_AUTHORS,
    TYPE_AUTHOR,
    TYPE_CHECKS,
    TYPE_CONTEXTS,
    TYPE_CONTEXT,
    TYPE_STATE_COUNT,
    TYPE_SUITE,
    TYPE_RUN,
    TYPE_NAME,
    TYPE_FILES,
    TYPE_FILE,
    TYPE_LABELS,
    TYPE_LABEL,
    TYPE_MILESTONE,
    TYPE_CARDS,
    TYPE_CARD,
    TYPE_AUTO_MERGE,
    TYPE_PAGE,
    TYPE_SCHEMA,
    TYPE_MADE_PULL,
    TYPE_MADE_COMMENT,
};

/* What fields below the first ones may be asked with: how many of them, and which. No argument names another object, but `pullRequestId`, which must be known. */
static const char argument_names[] =
    "after affiliations archivedStates author baseRefName before filterBy first headRefName includeDeprecated labels "
    "last number orderBy pullRequestId pullRequestNumber states writersOnly";

enum { MOST_LINKS = 24 };

static const struct {
    const char *plain;
    struct {
        const char *field;
        enum pulls_type type;
    } links[MOST_LINKS];
} types[] = {
    [TYPE_REPOSITORY] =
        {"id name nameWithOwner description url isPrivate isFork isArchived isInOrganization visibility viewerPermission "
         "hasIssuesEnabled hasWikiEnabled hasProjectsEnabled hasDiscussionsEnabled mergeCommitAllowed "
         "rebaseMergeAllowed squashMergeAllowed deleteBranchOnMerge viewerDefaultMergeMethod autoMergeAllowed",
         {{"owner", TYPE_PERSON},
          {"parent", TYPE_NAMES},
          {"defaultBranchRef", TYPE_BRANCH},
          {"pullRequestTemplates", TYPE_TEMPLATE},
          {"forks", TYPE_FORKS},
          {"pullRequest", TYPE_PULL},
          {"pullRequests", TYPE_PULLS},
          {"issue", TYPE_PULL},
          {"issueOrPullRequest", TYPE_PULL},
          {"issues", TYPE_PULLS}}},
    [TYPE_NAMES] =
        {"id name nameWithOwner description url isPrivate viewerPermission hasIssuesEnabled hasWikiEnabled",
         {{"owner", TYPE_PERSON}, {"defaultBranchRef", TYPE_NAME}}},
    [TYPE_USER] = {"id login name", {{0}}},
    [TYPE_PERSON] = {"id login name slug", {{"organization", TYPE_USER}}},
    [TYPE_PEOPLE] = {"totalCount", {{"nodes", TYPE_PERSON}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_BRANCH] = {"id name", {{"branchProtectionRule", TYPE_PROTECTION}}},
    [TYPE_PROTECTION] = {"requiresStrictStatusChecks requiredApprovingReviewCount", {{0}}},
    [TYPE_TEMPLATE] = {"filename body", {{0}}},
    [TYPE_FORKS] = {"totalCount", {{"nodes", TYPE_NAMES}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_PULLS] = {"totalCount", {{"nodes", TYPE_PULL}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_PULL] =
        {"id number title body state url createdAt updatedAt closed closedAt mergedAt merged isDraft additions "
         "deletions changedFiles baseRefName baseRefOid headRefName headRefOid isCrossRepository "
         "maintainerCanModify mergeable mergeStateStatus reviewDecision fullDatabaseId isInMergeQueue "
         "isMergeQueueEnabled stateReason isPinned",
         {{"author", TYPE_PERSON},
          {"mergedBy", TYPE_PERSON},
          {"headRepositoryOwner", TYPE_PERSON},
          {"headRepository", TYPE_NAMES},
          {"baseRef", TYPE_BRANCH},
          {"assignees", TYPE_PEOPLE},
          {"comments", TYPE_COMMENTS},
          {"reactionGroups", TYPE_REACTIONS},
          {"reviews", TYPE_REVIEWS},
          {"latestReviews", TYPE_REVIEWS},
          {"reviewRequests", TYPE_REVIEW_REQUESTS},
          {"commits", TYPE_COMMITS},
          {"mergeCommit", TYPE_COMMIT},
          {"potentialMergeCommit", TYPE_COMMIT},
          {"statusCheckRollup", TYPE_CHECKS},
          {"files", TYPE_FILES},
          {"labels", TYPE_LABELS},
          {"milestone", TYPE_MILESTONE},
          {"projectCards", TYPE_CARDS},
          {"autoMergeRequest", TYPE_AUTO_MERGE}}},
    [TYPE_COMMENTS] = {"totalCount", {{"nodes", TYPE_COMMENT}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_COMMENT] =
        {"id body url createdAt authorAssociation includesCreatedEdit isMinimized minimizedReason "
         "viewerDidAuthor",
         {{"author", TYPE_PERSON}, {"reactionGroups", TYPE_REACTIONS}}},
    [TYPE_COMMENT_EDGE] = {"cursor", {{"node", TYPE_COMMENT}}},
    [TYPE_REACTIONS] = {"content", {{"users", TYPE_COUNT}}},
    [TYPE_COUNT] = {"totalCount", {{0}}},
    [TYPE_REVIEWS] = {"totalCount", {{"nodes", TYPE_REVIEW}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_REVIEW] = {"id body state submittedAt authorAssociation url includesCreatedEdit",
                     {{"author", TYPE_PERSON}, {"commit", TYPE_COMMIT}, {"reactionGroups", TYPE_REACTIONS}}},
    [TYPE_REVIEW_REQUESTS] = {"totalCount", {{"nodes", TYPE_REVIEW_REQUEST}}},
    [TYPE_REVIEW_REQUEST] = {"id", {{"requestedReviewer", TYPE_PERSON}}},
    [TYPE_COMMITS] = {"totalCount", {{"nodes", TYPE_COMMIT_PLACE}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_COMMIT_PLACE] = {"id", {{"commit", TYPE_COMMIT}}},
    [TYPE_COMMIT] = {"id oid messageHeadline messageBody committedDate authoredDate",
                     {{"authors", TYPE_AUTHORS}, {"statusCheckRollup", TYPE_CHECKS}}},
    [TYPE_AUTHORS] = {"totalCount", {{"nodes", TYPE_AUTHOR}}},
    [TYPE_AUTHOR] = {"name email", {{"user", TYPE_USER}}},
    [TYPE_CHECKS] = {"id state", {{"contexts", TYPE_CONTEXTS}}},
    [TYPE_CONTEXTS] = {"totalCount checkRunCount statusContextCount",
                       {{"nodes", TYPE_CONTEXT},
                        {"pageInfo", TYPE_PAGE},
                        {"checkRunCountsByState", TYPE_STATE_COUNT},
                        {"statusContextCountsByState", TYPE_STATE_COUNT}}},
    [TYPE_CONTEXT] =
        {"context state targetUrl createdAt description isRequired name status conclusion startedAt "
         "completedAt detailsUrl",
         {{"checkSuite", TYPE_SUITE}}},
    [TYPE_STATE_COUNT] = {"state count", {{0}}},
    [TYPE_SUITE] = {"id", {{"workflowRun", TYPE_RUN}}},
    [TYPE_RUN] = {"event", {{"workflow", TYPE_NAME}}},
    [TYPE_NAME] = {"id name title", {{0}}},
    [TYPE_FILES] = {"totalCount", {{"nodes", TYPE_FILE}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_FILE] = {"path additions deletions changeType", {{0}}},
    [TYPE_LABELS] = {"totalCount", {{"nodes", TYPE_LABEL}, {"pageInfo", TYPE_PAGE}}},
    [TYPE_LABEL] = {"id name description color", {{0}}},
    [TYPE_MILESTONE] = {"id number title description dueOn", {{0}}},
    [TYPE_CARDS] = {"totalCount", {{"nodes", TYPE_CARD}}},
    [TYPE_CARD] = {"id", {{"project", TYPE_NAME}, {"column", TYPE_NAME}}},
    [TYPE_AUTO_MERGE] = {"commitBody commitHeadline mergeMethod enabledAt", {{"enabledBy", TYPE_PERSON}}},
    [TYPE_PAGE] = {"hasNextPage endCursor", {{0}}},
    /* What the server knows, which clients ask before they use it. Public. */
    [TYPE_SCHEMA] = {"name kind",
                     {{"fields", TYPE_SCHEMA}, {"inputFields", TYPE_SCHEMA}, {"enumValues", TYPE_SCHEMA}}},
    [TYPE_MADE_PULL] = {"clientMutationId", {{"pullRequest", TYPE_PULL}}},
    [TYPE_MADE_COMMENT] = {"clientMutationId", {{"commentEdge", TYPE_COMMENT_EDGE}}},
};
