#include "store/sqlite_evaluations.h"

#include <limits>

namespace sotto::server {
namespace {

std::vector<ClassCount> ReadClasses(Database& database, int64_t job, uint32_t round) {
  std::vector<ClassCount> classes;
  Statement row(database,
                "SELECT correct, total FROM evaluated_classes WHERE job = ? AND round = ? "
                "ORDER BY class");
  row.BindInteger(job).BindInteger(round);
  while (row.Step()) {
    classes.push_back(
        {static_cast<uint64_t>(row.Integer(0)), static_cast<uint64_t>(row.Integer(1))});
  }
  return classes;
}

}  // namespace

void AddEvaluation(Database& database, const StoredEvaluation& stored) {
  Statement insert(database,
                   "INSERT INTO evaluations (job, round, data, samples, loss, evaluated) "
                   "VALUES (?, ?, ?, ?, ?, ?)");
  insert.BindInteger(stored.job)
      .BindInteger(stored.round)
      .BindText(stored.data)
      .BindInteger(static_cast<int64_t>(stored.evaluation.samples))
      .BindReal(stored.evaluation.loss)
      .BindInteger(stored.evaluated)
      .Run();
  Statement row(database,
                "INSERT INTO evaluated_classes (job, round, class, correct, total) "
                "VALUES (?, ?, ?, ?, ?)");
  int64_t label = 0;
  for (const ClassCount& each : stored.evaluation.classes) {
    row.BindInteger(stored.job)
        .BindInteger(stored.round)
        .BindInteger(label++)
        .BindInteger(static_cast<int64_t>(each.correct))
        .BindInteger(static_cast<int64_t>(each.total))
        .Run();
  }
}

std::vector<StoredEvaluation> ReadEvaluations(Database& database) {
  std::vector<StoredEvaluation> all;
  Statement row(database,
                "SELECT job, round, data, samples, loss, evaluated FROM evaluations "
                "ORDER BY job, round");
  while (row.Step()) {
    StoredEvaluation stored;
    stored.job = row.Integer(0);
    stored.round = static_cast<uint32_t>(row.Integer(1));
    stored.data = row.Text(2);
    stored.evaluation.samples = static_cast<uint64_t>(row.Integer(3));
    stored.evaluation.loss = row.IsNull(4) ? std::numeric_limits<double>::quiet_NaN() : row.Real(4);
    stored.evaluated = row.Integer(5);
    stored.evaluation.classes = ReadClasses(database, stored.job, stored.round);
    all.push_back(std::move(stored));
  }
  return all;
}

}  // namespace sotto::server
