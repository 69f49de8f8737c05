//! What the central store can be asked.

use std::collections::BTreeSet;

use anyhow::Result;

use super::Central;

/// Shares of the runs below each value of a distribution.
const SHARES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

/// The distribution of a metric over the runs of a model, in its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricDistribution {
    /// The metric.
    pub metric: String,
    /// Number of runs.
    pub runs: i64,
    /// The least value.
    pub least: f64,
    /// The values below which are 5, 25, 50, 75 and 95% of the runs.
    pub quantiles: Vec<f64>,
    /// The greatest value.
    pub greatest: f64,
}

/// The median of a metric over the runs of a model with one firmware.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelMedian {
    /// The model; empty if unknown.
    pub model: String,
    /// Its firmware; empty if unknown.
    pub firmware: String,
    /// Number of runs.
    pub runs: i64,
    /// In the unit of the metric.
    pub median: f64,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobNotice {
    /// The job.
    pub job: String,
    /// The machine's name, or its id if its key is no longer enrolled.
    pub host: String,
    /// The target.
    pub target: String,
    /// How it ended.
    pub end: String,
    /// Why.
    pub reason: String,
    /// When, on the machine's clock.
    pub at: String,
}

/// What the collector refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedLetter {
    /// The name of the machine of the key, or else the id of the sender; `None` if both are unknown.
    pub host: Option<String>,
    /// The claimed hash.
    pub hash: Vec<u8>,
    /// Why.
    pub reason: String,
    /// How often.
    pub times: i64,
}

impl Central {
    /// The distribution of metrics over all runs of a model; those that no run has are missing.
    pub async fn distribution(
        &self,
        model: &str,
        metrics: &[&str],
    ) -> Result<Vec<MetricDistribution>> {
        // The ids first: with constants, the plan reads the index and nothing else.
        let sql = "SELECT id FROM model WHERE name = $1";
        let models = self.client.query(sql, &[&model]).await?;
        let models: Vec<i32> = models.iter().map(|row| row.get(0)).collect();
        let mut distributions = Vec::new();
        for metric in metrics {
            let Some(name) = self.word(metric).await? else { continue };
            let sql = "SELECT count(*), min(value), max(value),
                              percentile_cont($3::float8[]) WITHIN GROUP (ORDER BY value)
                       FROM metric WHERE name = $1 AND model = ANY ($2)";
            let row = self.client.query_one(sql, &[&name, &models, &&SHARES[..]]).await?;
            let runs: i64 = row.get(0);
            if runs > 0 {
                let (metric, least, greatest) = ((*metric).to_string(), row.get(1), row.get(2));
                let quantiles = row.get(3);
                distributions.push(MetricDistribution { metric, runs, least, quantiles, greatest });
            }
        }
        Ok(distributions)
    }

    /// The median of a metric by model and firmware, over all runs.
    pub async fn medians(&self, metric: &str) -> Result<Vec<ModelMedian>> {
        let Some(name) = self.word(metric).await? else { return Ok(Vec::new()) };
        let sql = "SELECT model.name, model.firmware, runs, median
                   FROM (SELECT model, count(*) AS runs,
                                percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median
                         FROM metric WHERE name = $1 GROUP BY model) AS medians
                        JOIN model ON model.id = medians.model
                   ORDER BY 1, 2";
        let rows = self.client.query(sql, &[&name]).await?;
        let medians = rows.iter().map(|row| ModelMedian {
            model: row.get(0),
            firmware: row.get(1),
            runs: row.get(2),
            median: row.get(3),
        });
        Ok(medians.collect())
    }

    async fn word(&self, text: &str) -> Result<Option<i32>> {
        let row = self.client.query_opt("SELECT id FROM word WHERE text = $1", &[&text]).await?;
        Ok(row.map(|row| row.get(0)))
    }

    /// The jobs whose ids begin like this and that have ended: one line each, latest first.
    pub async fn notices(&self, prefix: &str, only: Option<&str>) -> Result<Vec<JobNotice>> {
        let sql = "SELECT job, coalesce(host, notice.machine), target, job_end, reason, at
                   FROM notice LEFT JOIN enrolment USING (key)
                   WHERE starts_with(job, $1) AND ($2::text IS NULL OR job_end = $2)
                   ORDER BY received DESC, job LIMIT 100000";
        let rows = self.client.query(sql, &[&prefix, &only]).await?;
        let notices = rows.iter().map(|row| JobNotice {
            job: row.get(0),
            host: row.get(1),
            target: row.get(2),
            end: row.get(3),
            reason: row.get(4),
            at: row.get(5),
        });
        Ok(notices.collect())
    }

    /// The jobs whose ids begin like this and that ended so; one that was measured has its record here.
    pub async fn ended_jobs(&self, prefix: &str, end: &str) -> Result<BTreeSet<String>> {
        let sql = "SELECT DISTINCT job FROM notice
                   WHERE starts_with(job, $1) AND job_end = $2
                         AND (record IS NULL OR EXISTS (SELECT FROM run WHERE hash = record))
                         AND (record IS NOT NULL OR job_end <> 'measured')";
        let rows = self.client.query(sql, &[&prefix, &end]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// What the collector refused, latest first.
    pub async fn refusals(&self) -> Result<Vec<RefusedLetter>> {
        let sql = "SELECT coalesce(host, nullif(sender, '')), hash, reason, times
                   FROM refusal LEFT JOIN enrolment USING (key) ORDER BY last DESC LIMIT 1000";
        let rows = self.client.query(sql, &[]).await?;
        let refusals = rows.iter().map(|row| RefusedLetter {
            host: row.get(0),
            hash: row.get(1),
            reason: row.get(2),
            times: row.get(3),
        });
        Ok(refusals.collect())
    }

    /// The hashes of all records, or of those with a tag `name=value`, sorted.
    pub async fn hashes(&self, tag: Option<&str>) -> Result<Vec<Vec<u8>>> {
        let sql = "SELECT hash FROM run WHERE $1::text IS NULL OR tags @> ARRAY[$1] ORDER BY hash";
        let rows = self.client.query(sql, &[&tag]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// The number of refused letters that are kept.
    pub async fn refusal_count(&self) -> Result<i64> {
        Ok(self.client.query_one("SELECT count(*) FROM refusal", &[]).await?.get(0))
    }

    /// The number of values of metrics.
    pub async fn metric_count(&self) -> Result<i64> {
        Ok(self.client.query_one("SELECT count(*) FROM metric", &[]).await?.get(0))
    }

    /// Does now what PostgreSQL does by itself within minutes: after it, a question reads the index alone.
    pub async fn settle(&self) -> Result<()> {
        Ok(self.client.batch_execute("VACUUM (ANALYZE) metric").await?)
    }

    /// The record with this hash, deflated.
    pub async fn packed(&self, hash: &[u8]) -> Result<Option<Vec<u8>>> {
        let sql = "SELECT packed FROM run WHERE hash = $1";
        Ok(self.client.query_opt(sql, &[&hash]).await?.map(|row| row.get(0)))
    }
}
